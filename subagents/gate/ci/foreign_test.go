package ci

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForeignMachines(t *testing.T) {
	t.Parallel()
	list, found := in(t, map[string]string{workflow: `on: push
jobs:
  a:
    runs-on: ubuntu-latest
    container: alpine:3
    steps: [{run: go test ./a}]
  b:
    runs-on: ${{ matrix.os }}
    strategy: {matrix: {os: [ubuntu-24.04, ubuntu-24.04-arm, macos-14-arm64]}}
    steps:
      - run: go test ./${{ matrix.os }}
  c:
    runs-on: ubuntu-latest
    strategy: {matrix: {arch: [x86, riscv64]}}
    steps:
      - run: go test ./before-${{ matrix.arch }}
      - {uses: docker/setup-qemu-action@v3, if: "${{ matrix.arch == 'riscv64' }}"}
      - run: go test ./c-${{ matrix.arch }}
  d:
    runs-on: ubuntu-latest
    container: {image: "${{ matrix.image }}"}
    strategy: {matrix: {image: [fedora]}}
    steps: [{run: go test ./d}]
`})
	require.Empty(t, found.Errors)
	require.Equal(t, []string{
		"6 a: go test ./a | it runs in the container alpine:3", "11 b: go test ./ubuntu-24.04",
		"11 b: go test ./ubuntu-24.04-arm | it runs on arm", "11 b: go test ./macos-14-arm64 | it runs on macos",
		"16 c: go test ./before-x86", "18 c: go test ./c-x86", "16 c: go test ./before-riscv64", "18 c: go test ./c-riscv64 | it emulates another processor",
		"23 d: go test ./d | it runs in the container fedora",
	}, list)
}
