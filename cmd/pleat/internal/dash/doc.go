// Package dash is the dashboard: pages for a person who wants to know where the context of
// an agent went, what was folded, what that saved, and whether it is still there.
//
// [New] makes an [http.Handler] over a [Library]. It serves the overview at "/" and all else
// below "/dash/", so that it can stand in front of a proxy. Pages are HTML that the server
// renders; they read whole without JavaScript. A small script renews a page when its session
// goes on, and asks for another plan while a slider is moved.
//
// Everything that a session holds is hostile: it reaches a page through html/template only,
// with the secrets of known shapes taken out. The handler reads; nothing changes a session.
package dash
