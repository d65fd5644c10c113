package round

import (
	"cmp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/subagents/finding"
)

// Code is a kind of findings, by the name that the tool gives it, and how many of them are left.
type Code struct {
	Code string `json:"code"`
	Left int    `json:"left"`
}

// other stands for findings without a code.
const other = "other"

var (
	fileBefore = lazyregexp.New(`^\S*\.[A-Za-z]\w*: `)
	fileAfter  = lazyregexp.New(`^(?:[\dN]+:[\dN]+ )?(?:error|warning) .* ([@\w-]+(?:/[\w-]+)*) in \S+$`) // of eslint
)

// Codes counts the findings of a receipt by their codes, those of the most findings first.
func Codes(r spec.Receipt) (codes []Code) {
	left := map[string]int{}
	for _, signature := range r.Signatures {
		var code string
		if m := fileAfter.FindStringSubmatch(signature); m != nil {
			code = m[1]
		} else {
			code = finding.Read(strings.TrimPrefix(signature, fileBefore.FindString(signature))).Code
		}
		left[cmp.Or(code, other)] += r.Count(signature)
	}
	for code, n := range left {
		codes = append(codes, Code{code, n})
	}
	slices.SortFunc(codes, func(a, b Code) int { return cmp.Or(cmp.Compare(b.Left, a.Left), cmp.Compare(a.Code, b.Code)) })
	return codes
}
