package cli

import (
	"strconv"
	"strings"
	"time"

	"divisi/internal/usage"
)

const day = 24 * time.Hour

// ParseAge reads the time of a flag, such as 30d, or one that Go knows.
func ParseAge(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * day, nil
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, usage.Errorf("%s %q is not a time such as 30d or 12h", flag, text)
	}
	return age, nil
}
