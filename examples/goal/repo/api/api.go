// Package api is a part of the shop.
package api

import "log"

// Start starts it.
func Start(name string) {
	log.Printf("api %s started", name)
}
