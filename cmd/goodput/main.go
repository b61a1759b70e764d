// Command goodput measures how much load an LLM serving stack carries before
// its users stop getting what they were promised.
package main

import (
	"os"

	"goodput/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.OS())) }
