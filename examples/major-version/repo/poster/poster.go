// Package poster draws posters.
package poster

import (
	"strings"

	"example.com/paint"
	"example.com/studio/shape"
)

// Poster draws a square on a ground.
func Poster(ground, colour string) string {
	return strings.Join(append([]string{paint.Fill(ground)}, shape.Square(3, colour)...), "; ")
}
