"""The HTTP process: the API, version 1.

| file | holds |
| --- | --- |
| `app` | the application: all routes, in one place |
| `routes/` | what each endpoint does, by subject |
| `models` | what comes in and goes out, documented for OpenAPI |
| `backend` | what routes need: the engine's link, caches of catalog and status, security, committed results |
| `caller` | who asks, and what their names are called inside the engine |
| `guard` | what is refused before a route is asked (hosts, origins, sizes), headers, the audit log |
| `problems` | errors as problem documents (RFC 9457) |
| `events` | results as server-sent events |
| `places` | where results are, asked of the engine as seldom as is right |
| `process`, `local` | the process; the same API within a command, without a server |

No decision of scheduling is made here, and nothing here imports pyspark.
"""
