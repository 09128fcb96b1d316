"""The page: what people see of a server in a browser. It shows what control knows and decides nothing.

It runs in the HTTP process, beside the API, and asks the API for everything it does, as whoever has signed
in: it has no rights and no checks of its own. What is live comes from one look at the engine for all pages
that are open, with the last minutes kept beside it.

    process, site   the HTTP process with the page; how API and page are one application
    access/         who looks: signing in, asking the API as whoever that is
    live/           looks at the engine, and the last minutes
    pages/          one module for each page
    parts/          what pages are made of: the frame around them, forms, components with a file in `js/` each
    js/, static/    components that draw in the browser, and the style: one type scale, one set of colours
    queries/  new_query/  network/  streams/  scheduler/  experiments/
                    what pages of these say and ask, most of it pure: plain data in, plain data out

Start with `site`, then `pages/overview`. Nothing here imports Spark.
"""
