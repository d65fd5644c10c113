// Package shape draws shapes.
package shape

import "example.com/paint"

// Square draws a filled square.
func Square(side int, colour string) []string {
	return []string{paint.Line(side), paint.Line(side), paint.Line(side), paint.Line(side), paint.Fill(colour)}
}
