"""The page: what people see of a server in a browser. It shows what control knows and decides nothing.

It runs in the HTTP process, beside the API, and asks the API for everything it does, as whoever has signed in
(`visitor`): it has no rights and no checks of its own. What is live comes from one look at the engine each
second for all pages that are open (`live`), with the last minutes kept beside it (`history`).

    process   the HTTP process with the page; `site` puts the two together, `signing_in` has the cookie
    pages/    one module for each page
    parts/    what pages are made of: the frame around them, forms, and components with a file in `js/` each
    js/       components that draw in the browser, and what they share (`penstock-ui`)
    static/   the style: one type scale, one set of colours with meaning

Start with `site`, then `pages/overview`. Nothing here imports Spark.
"""
