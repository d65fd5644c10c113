// Package report prints what was sold.
package report

import (
	"fmt"
	"time"
)

// Title is the first line of a report.
func Title() string {
	clock := time.Now().Format("15:04")
	return fmt.Sprintf("Sold until %s on %s", clock, time.Now().Weekday())
}
