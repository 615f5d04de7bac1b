/**
 * CSV lines: the cells of a definition file, line by line.
 *
 *   a, "b, c", "say ""x"""     a quoted cell may span lines, its pieces are joined with ;
 *   # … and // … are comments, except that a first line always counts: it names the columns
 */

export interface CsvLine {
  /** The line number, counted from 1; the last one of a line that spans several. */
  readonly line: number
  /** Empty for an empty line. */
  readonly cells: string[]
}

/** Trims blanks and tabs. A text of nothing else stays unchanged, so that such a line is not empty. */
export function trimCell(text: string): string {
  const first = text.charCodeAt(0)
  const last = text.charCodeAt(text.length - 1)
  if (first !== 32 && first !== 9 && last !== 32 && last !== 9) return text
  const trimmed = text.replace(/^[ \t]+/, '')
  return trimmed === '' ? text : trimmed.replace(/[ \t]+$/, '')
}

export function* parseCsvLines(text: string): Generator<CsvLine> {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  let index = 0
  while (index < lines.length) {
    const line = trimCell(lines[index++] ?? '')
    if (line === '' || line.startsWith('#') || line.startsWith('//')) {
      if (index === 1) yield { line: 1, cells: [] }
      continue
    }
    if (!line.includes('"')) {
      yield { line: index, cells: withoutEmptyRow(line.replaceAll('\r', '').split(',').map(trimCell)) }
      continue
    }
    const reader = new QuotedReader()
    reader.read(line)
    while (reader.isOpen && index < lines.length) reader.read(trimCell(lines[index++] ?? ''))
    yield { line: index, cells: withoutEmptyRow(reader.finish()) }
  }
}

function withoutEmptyRow(cells: string[]): string[] {
  return cells.every((cell) => cell === '') ? [] : cells
}

/** Reads one row with quotes, character by character. */
class QuotedReader {
  readonly #cells: string[] = []
  #cell = ''
  #isQuoted = false
  #wasQuoted = false
  #previous = ','

  get isOpen(): boolean {
    return this.#isQuoted
  }

  read(line: string): void {
    for (let at = 0; at < line.length; at++) {
      const character = line[at] ?? ''
      if (character === ',') this.#separator()
      else if (character === '"') this.#quote()
      else if (character !== '\r') this.#plain(character, at === 0)
      this.#previous = character
    }
  }

  finish(): string[] {
    return [...this.#cells, trimCell(this.#cell)]
  }

  #separator(): void {
    if (this.#isQuoted) {
      this.#cell += ','
      return
    }
    this.#cells.push(trimCell(this.#cell))
    this.#cell = ''
    this.#wasQuoted = false
  }

  #quote(): void {
    if (this.#previous === '"' && !this.#isQuoted) {
      this.#cell += '"'
      this.#isQuoted = true
    } else if (this.#isQuoted) this.#isQuoted = false
    else if (this.#previous === ',') this.#isQuoted = this.#wasQuoted = true
    else this.#cell += '"'
  }

  #plain(character: string, isLineStart: boolean): void {
    if (this.#previous === '"' && !this.#isQuoted && this.#wasQuoted) {
      // A single quote inside of a quoted text belongs to it.
      this.#cell += '"'
      this.#isQuoted = true
    } else if (this.#isQuoted && isLineStart && this.#cell !== '' && !this.#cell.endsWith(';')) this.#cell += ';'
    this.#cell += character
  }
}
