package finding

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestSymbol(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"not enough arguments in call to store.Count": "store.Count",
		"undefined: ld": "ld",
		"too few arguments to function ‘cJSON_Print’":                               "cJSON_Print",
		"‘sum’ undeclared (first use in this function)":                             "sum",
		"implicit declaration of function ‘cJSON_Version’":                          "cJSON_Version",
		"sds.c:(.text+0x1): undefined reference to `sdsMissing'":                    "sdsMissing",
		"cannot find symbol: variable totals":                                       "totals",
		"method parse in class NumberLimits cannot be applied to given types;":      "parse",
		"cannot find function `totals` in this scope":                               "totals",
		"Cannot find name 'toDates'. Did you mean 'toDate'?":                        "toDates",
		`"./price"' has no exported member named 'totals'.`:                         "totals",
		`Missing positional argument "size" in call to "base64"`:                    "base64",
		"ImportError: cannot import name 'bytes_to_integer' from 'itsdangerous'":    "bytes_to_integer",
		"NameError: name 'ruond' is not defined":                                    "ruond",
		"TypeError: strip_ansi() missing 1 required positional argument: 'keep'":    "strip_ansi",
		"syntax error: unexpected * in parameter list; possibly missing comma or )": "",
		"expected ';', found '}'":                                                   "",
	} {
		require.Equal(t, want, Symbol(spec.Finding{Message: message}, ""), message)
	}
	source := "    let x = imp::Handle::from_path(p).map(Handle)"
	require.Equal(t, "from_path", Symbol(spec.Finding{Message: "takes 2", Code: "E0061", Column: 13}, source))
	inner := "  return addDays(toDate(date), amount * 7, options);"
	require.Equal(t, "addDays", Symbol(spec.Finding{Message: "is no string", Code: "TS2345", Column: 44}, inner))
	require.Empty(t, Symbol(spec.Finding{Message: "takes 2", Code: "E0308", Column: 13}, source))
	require.Empty(t, Symbol(spec.Finding{Message: "takes 2", Code: "E0061", Column: 900}, source))
}
