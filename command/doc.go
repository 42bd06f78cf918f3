// Package command is the command line: flags, environment, wiring, printing and exit codes, one file for each subcommand.
//
// stdout carries the result, stderr everything else. With --json the result, and an error too, is one versioned object on
// stdout. It is the only room that reads flags or the environment, and the one door to urfave/cli.
package command
