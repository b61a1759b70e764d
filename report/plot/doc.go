// Package plot draws charts as SVG text: no scripts, no fonts, nothing from a
// network, with labels that a screen reader can read. Colours come from the style
// sheet (Style) of the page that a chart is put into, so that they follow light and
// dark.
//
// It computes nothing of what it draws and writes no page around it.
package plot
