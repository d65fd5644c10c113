// Package paint describes pictures.
package paint

import "fmt"

// Line draws a line of a length.
func Line(length int) string { return fmt.Sprintf("line %d", length) }

// Fill fills with a colour.
func Fill(colour string) string { return "fill " + colour }
