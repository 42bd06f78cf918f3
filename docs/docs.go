// Package docs holds the pages that the binary can print. It imports nothing.
package docs

import _ "embed"

// Unknown explains to the person who must decide what unknown means and how to find out.
//
//go:embed unknown.md
var Unknown string
