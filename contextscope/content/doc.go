// Package content reads and measures genai contents: their calls, results and visible parts, their size in bytes and tokens,
// and their words. It returns new contents and never changes one, and it imports internal/spec alone, for its JSON.
package content
