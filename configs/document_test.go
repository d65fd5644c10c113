package configs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Aliases of aliases, which stand for 10,000,000,000 values, are refused by each reader.
func TestAliasesAreNotFollowed(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d%s]\n", i+1, i+1, i, strings.Repeat(fmt.Sprintf(", *a%d", i), 9))
	}
	bomb += "description: *a9\ngoal: *a9\nprotected: *a9\nsecrets: *a9\npreset: *a9\n"
	for name, parse := range map[string]func(string) error{
		"project":      func(text string) error { _, err := ParseProject("f", text); return err },
		"plan":         func(text string) error { _, _, err := ParsePlan("f", text); return err },
		"role":         func(text string) error { _, err := ParseRole("f", "---\n"+text+"---\nDo."); return err },
		"policy":       func(text string) error { _, err := ParsePolicy("f", text); return err },
		"organisation": func(text string) error { _, err := ParseOrganisation("f", text); return err },
	} {
		require.ErrorContains(t, parse(bomb), "anchors and aliases are not read here", name)
	}
}
