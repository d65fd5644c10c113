// Command parts prints the largest parts of a program. Its input is an ELF file with symbols, its output one line for each of the
// largest modules, and for the tables that the linker adds. It never changes the file.
package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// shown is how many parts are printed.
const shown = 5

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: parts FILE")
		os.Exit(2)
	}
	sizes, err := parts(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) })
	for _, name := range names[:min(shown, len(names))] {
		fmt.Printf("%6.1f MB  %s\n", float64(sizes[name])/1e6, name)
	}
}

// parts are the sizes of what is in the file, by module.
func parts(path string) (map[string]uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read the symbols of %s: %w", path, err)
	}
	sizes := map[string]uint64{}
	for _, s := range symbols {
		if int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Type == elf.SHT_NOBITS {
			continue // no section, or one that takes no room in the file
		}
		sizes[module(s.Name)] += s.Size
	}
	if tables := f.Section(".gopclntab"); tables != nil {
		sizes["tables of lines and functions, for stack traces"] += tables.Size
	}
	return sizes, nil
}

// module is the module of a symbol; those of Go itself are one.
func module(symbol string) string {
	name := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(symbol, "type:"), ".eq."), "*")
	name = strings.ReplaceAll(strings.SplitN(name, "[", 2)[0], "%2e", ".")
	path := strings.Split(name, "/")
	switch {
	case path[0] == "divisi" || strings.HasPrefix(name, "main."):
		return "divisi"
	case len(path) < 2 || !strings.Contains(path[0], "."):
		return "Go's standard library and runtime"
	case len(path) > 2 && path[0] == "github.com":
		return strings.Join(path[:2], "/") + "/" + strings.SplitN(path[2], ".", 2)[0]
	}
	return path[0] + "/" + strings.SplitN(path[1], ".", 2)[0]
}
