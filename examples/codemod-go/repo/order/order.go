// Package order keeps orders.
package order

import "time"

// Order is what a customer has ordered.
type Order struct {
	ID     string
	Placed time.Time
}

// New places an order now.
func New(id string) Order { return Order{ID: id, Placed: time.Now()} }
