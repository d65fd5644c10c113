package mutant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChangedParts(t *testing.T) {
	t.Parallel()
	for file, versions := range map[string][2]string{
		"a.py": {
			"class A:\n    def get(self):\n        return 1\n\n    def put(self):\n        return 2\n\n\nasync def run():\n    if (x):\n        pass\n",
			"class A:\n    def get(self):\n        return 3\n\n    def put(self):\n        return 2\n\n\nasync def run():\n    if (x):\n        pass\n",
		},
		"a.js": {
			"export class A {\n  get(a) {\n    return 1;\n  }\n  put() {\n    if (a) {\n      b();\n    }\n  }\n}\nconst f = (x) => {\n};\n",
			"export class A {\n  get(a) {\n    return 2;\n  }\n  put() {\n    if (a) {\n      b();\n    }\n  }\n}\nconst f = (x) => {\n};\n",
		},
	} {
		got := changedIn(functions(map[string][]byte{file: []byte(versions[0])}, false), functions(map[string][]byte{file: []byte(versions[1])}, false))
		require.Equal(t, []string{"get"}, got, file)
	}
}
