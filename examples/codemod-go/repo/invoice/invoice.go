// Package invoice bills orders.
package invoice

import (
	"fmt"
	"time"
)

// Number is the number of the next invoice; the year begins it.
func Number(next int) string { return fmt.Sprintf("%d-%04d", time.Now().Year(), next) }
