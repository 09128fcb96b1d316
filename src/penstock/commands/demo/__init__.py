"""`penstock demo`: a day in a smart home on local Spark, played in a minute, with another policy after noon.

Both half-days bring the same load, so what differs between them is the policy, and the noise of the machine.

    statements  the house: its streams and queries (`demo.sql`), and how many rows come when
    playing     the day is played, and looked at
    day         what came of the queries, before noon and after it
    report, picture
                what is shown of that
    serving     the same with the page, which goes on with the evening after

Start with `playing`.
"""
