package text

import (
	"fmt"
	"time"
)

// Tokens writes a number of tokens in at most five characters.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_500:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	default:
		return fmt.Sprintf("%.2fM", float64(n)/1_000_000)
	}
}

// Span writes a duration in whole seconds, or in minutes or hours with their rest.
func Span(d time.Duration) string {
	s := int(max(0, d).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
}

// Age writes how long ago something was, in its largest unit.
func Age(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Each words some things, a line each.
func Each[T fmt.Stringer](list []T) (lines []string) {
	for _, one := range list {
		lines = append(lines, one.String())
	}
	return lines
}

// Because is a reason behind what it is for; "" for none.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
