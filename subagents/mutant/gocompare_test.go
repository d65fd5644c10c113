package mutant

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tested is a test file of the product.
func tested(body string) string {
	return "package m\n\nimport (\n\t\"bytes\"\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nvar _, _, _ = os.Getenv, fmt.Sscan, bytes.IndexByte\n\n" + body
}

const feeTest = `func TestFee(t *testing.T) {
	for amount, want := range map[int]int{0: 0, 10: 0, 11: 3} {
		if got := Fee(amount); got != want {
			t.Errorf("Fee(%d) = %d, want %d", amount, got, want)
		}
	}
}

func TestMore(t *testing.T) {
	if Fee(10) != 0 || Fee(11) != 3 || Name("") != "none" {
		t.Fatal()
	}
}
`

const dataTest = `func TestFee(t *testing.T) {
	data, err := os.ReadFile("testdata/fees.txt")
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 {
		var amount, want int
		fmt.Sscan(string(data), &amount, &want)
		data = data[bytes.IndexByte(data, '\n')+1:]
		if Fee(amount) != want {
			t.Error(amount)
		}
	}
}
`

func TestWhatTestsNoLongerNotice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	weak := `func TestFee(t *testing.T) {
	if Fee(0) != 0 || Fee(11) != 3 {
		t.Fatal()
	}
}
` + feeTest[strings.Index(feeTest, "\nfunc TestMore"):]
	for name, c := range map[string]struct {
		before, after string
		// base is the product before, "" for the same.
		base string
		want string
		red  string
		// data is what the tests read before, brief what the task asks for.
		data, brief string
	}{
		"a row is gone, and another test still has it": {
			before: feeTest, after: weak,
			want: "tests are weaker: with m.go:7 in Fee: amount > 10 made amount >= 10, TestFee before the patch fails, the new one passes",
		},
		"a new test has what it had": {
			before: feeTest, after: weak + "\nfunc TestLimit(t *testing.T) {\n\tif Fee(10) != 0 {\n\t\tt.Fatal()\n\t}\n}\n",
		},
		"a new test of something else does not pay": {
			before: feeTest, after: weak + "\nfunc TestOther(t *testing.T) {\n\tif Name(\"b\") != \"b\" {\n\t\tt.Fatal()\n\t}\n}\n",
			want: "tests are weaker: with m.go:7 in Fee: amount > 10 made amount >= 10, TestFee before the patch fails, the new one passes",
		},
		"other words": {
			before: feeTest, after: `func TestFee(t *testing.T) {
	if Fee(0) != 0 || Fee(10) != 0 || Fee(11) != 3 {
		t.Fatal()
	}
}

func TestMore(t *testing.T) {
	if Fee(10)+Fee(11) != 3 || Name("") != "none" {
		t.Fatal()
	}
}
`,
		},
		"a hidden change": {
			before: "func TestFee(t *testing.T) {\n\tif Fee(11) != 4 {\n\t\tt.Fatal(\"want 4\")\n\t}\n}\n",
			after:  "func TestFee(t *testing.T) {\n\tif Fee(11) != 3 {\n\t\tt.Fatal(\"want 3\")\n\t}\n}\n",
			red:    "want 4",
		},
		"a row of data that is gone": {
			before: dataTest, after: dataTest, data: "0 0\n10 0\n11 3\n",
			want: "tests are weaker: with m.go:7 in Fee: amount > 10 made amount >= 10, TestFee before the patch fails, the new one passes",
		},
		"more than the brief names": {
			before: "func TestFee(t *testing.T) {\n\tif Fee(10) != 0 || Fee(11) != 4 {\n\t\tt.Fatal(\"want 4\")\n\t}\n}\n",
			after:  "func TestFee(t *testing.T) {\n\tif Fee(11) != 3 {\n\t\tt.Fatal(\"want 3\")\n\t}\n}\n",
			base:   strings.Replace(product, "return 3", "return 4", 1), brief: "Fee should be 3 instead of 4.", red: "want 4",
			want: "tests are weaker: with m.go:7 in Fee: amount > 10 made amount >= 10, TestFee before the patch fails, the new one passes",
		},
		"another name": {
			before: "func TestFee(t *testing.T) {\n\tif Cost(10) != 0 || Cost(11) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
			after:  "func TestFee(t *testing.T) {\n\tif Fee(9) != 0 || Fee(11) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
			base:   "package m\n\n// Cost is 3 above the limit.\nfunc Cost(n int) int {\n\tif n > 10 {\n\t\treturn 3\n\t}\n\treturn 0\n}\n\nfunc Name(s string) string { return s }\n",
			want:   "tests are weaker: with m.go:7 in Fee: amount > 10 made amount >= 10, TestFee before the patch fails, the new one passes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := tested(c.before), tested(c.after)
			e := sandboxed(t, module(t, map[string]string{"go.mod": mod, "m.go": product, "m_test.go": after}))
			e.Before = map[string][]byte{"m_test.go": []byte(before)}
			if c.data != "" {
				const file = "testdata/fees.txt"
				now := []byte("0 0\n11 3\n")
				require.NoError(t, os.Mkdir(filepath.Join(e.Place.Dir, "testdata"), 0o700))
				restore := func(context.Context) error { return os.WriteFile(filepath.Join(e.Place.Dir, file), now, 0o600) }
				require.NoError(t, restore(t.Context()))
				e.Data, e.Restore = Data{Before: map[string][]byte{file: []byte(c.data)}, After: map[string][]byte{file: now}}, restore
			}
			if c.base != "" {
				e.Base = map[string][]byte{"m.go": []byte(c.base)}
			}
			touched := &Touched{}
			require.NoError(t, touched.Add("m_test.go", []byte(before), []byte(after), nil))
			touched.Read(e.Data)
			touched.Brief, touched.Product, touched.Since = c.brief, e.Base, map[string][]byte{"m.go": []byte(product)}
			got, red, err := CompareGo(t.Context(), e, touched, time.Now().Add(time.Minute))
			require.NoError(t, err)
			if c.want == "" {
				require.Empty(t, got.Weaker)
			} else {
				require.NotEmpty(t, got.Weaker)
				var told []string
				for _, w := range got.Weaker {
					told = append(told, w.In("."))
				}
				require.Contains(t, told, c.want)
			}
			require.Equal(t, c.red != "", len(red) > 0)
			require.Contains(t, red["TestFee"], c.red)
			t.Log(got, red)
		})
	}
}
