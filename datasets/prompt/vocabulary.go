package prompt

// vocabularySize is the number of words, a power of two.
const vocabularySize = 512

// vocabulary holds the tokens one after the other, in alphabetical order, and
// three more bytes so that eight can be loaded from the start of each. The words
// are the likeliest of the plain English words of four letters that are one token
// in each of the vocabularies that the package names. Their order and number are
// part of what a key means.
const vocabulary = "" +
	" able acid acts adds ages also arch area arms army arts asks away back ball band" +
	" bank bars base bath bear beat been beer belt best bike bill bind bird bits blog" +
	" blue boat body bold bone book boot born boss both bowl buck bull busy call calm" +
	" came camp caps card care cars case cash cast cell cent chat city clip club coal" +
	" code coin cold come cook cool copy core cost crew cuts dark data date days deal" +
	" deck deep desk diet disc dish does dogs doll done door dose down drag draw drop" +
	" dual dust duty each earn ease east easy echo edge edit eggs else ends even ever" +
	" exam exit eyes face fact fail fair fall fans farm fast fear feed feel fees feet" +
	" fell felt file fill film find fine fire firm fish fits five flag flat flex flow" +
	" fold font food foot form fort four free from fuel full fund gain game gate gave" +
	" gear gene gets gift give glad goal goes gold gone good grab grew grid grow hair" +
	" half hall hand hang hard have head hear heat held help here hero hide high hint" +
	" hire hits hold hole home hook hope host hour huge icon idea inch into iron item" +
	" join joke jump jury just keep kept keys kind king knee knew know lack laid land" +
	" lane late laws lead lean left legs lens less lets lies life lift like line link" +
	" list live load loan lock logo long look loop lose loss lost lots loud love luck" +
	" made mail main make many maps mark mask mass math meal mean meat meet menu mere" +
	" mess mile milk mill mind mine mini miss mist mode mood moon more most move much" +
	" must myth name near neck need news next nice nine none norm nose note odds once" +
	" ones only onto open over pace pack page paid pain pair park part pass past path" +
	" peak pick pill pink plan play plot plug plus poll pool poor post pull pump pure" +
	" push quit race rail rain rank rare rate read real rear rely rent rest rice rich" +
	" ride ring rise risk road rock role roll roof room root rose rule runs rush safe" +
	" said sale salt same sand save says scan seat seed seek seem seen self sell send" +
	" sent sets ship shop show shut side sign sing site size slot slow snow soft soil" +
	" sold sole some song soon sort soul sour spin spot star stay stem step stop such" +
	" suit sure surf swim tact tail take talk tall tank tape task team tell tend tens" +
	" tent term test text than that them then they thin this thus tick tied ties till" +
	" time tiny tips told tone tons took tool tour town tree trip true turn type unit" +
	" upon used user uses vary vast vent very vice view vote wage wait wake walk wall" +
	" want warm warn wave ways weak wear week well went were west what when whom wide" +
	" wild will wind wine wing wins wire wish with wood word work year your zero zone" +
	"   "
