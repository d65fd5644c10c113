// Package api shows prices.
package api

import (
	"fmt"

	"example.com/shop/store"
)

// Show returns a line with the price of a product.
func Show(key string) string { return fmt.Sprintf("%s: %d", key, store.Load(key)) }
