// Package request answers what agents and people ask of a run while it goes on: delegation, transfer, write access and
// messages. Its functions decide from the state; they send nothing.
package request
