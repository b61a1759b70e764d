// Package raster draws the charts of package plot as pictures of dots, for where SVG can't
// be put: it reads the SVG of a chart with its style sheet, and paints it as a browser would
// on a light page, with letters of a font of its own.
//
// It is no renderer of SVG at large: it knows the elements, path commands and style rules
// that charts have, and refuses others rather than leave something out.
package raster
