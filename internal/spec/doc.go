// Package spec holds the contracts that every room shares as plain data: task, plan, role, result, handoff, receipt and
// project file. Each has a Validate that reports all faults at once. Nothing here does I/O.
package spec
