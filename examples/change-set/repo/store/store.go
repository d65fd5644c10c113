// Package store keeps prices.
package store

// Load returns the price of a product, in cents.
func Load(key string) int { return 100 * len(key) }
