// Package store is a part of the shop.
package store

import "log"

// Start starts it.
func Start(name string) {
	log.Printf("store %s started", name)
}
