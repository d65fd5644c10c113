// Package paint describes pictures.
package paint

import "fmt"

// Opaque hides what is behind.
const Opaque = 100

// Stroke draws a line of a length.
func Stroke(length int) string { return fmt.Sprintf("line %d", length) }

// Fill fills with a colour, of an opacity in percent.
func Fill(colour string, opacity int) string {
	if opacity == Opaque {
		return "fill " + colour
	}
	return fmt.Sprintf("fill %s at %d %%", colour, opacity)
}
