/**
 * The tables in docs/protocols/homeseer.md § 9 and the tests they name: every defect and every probe has a row, and
 * every row names a test that is there and not skipped.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const document = text('../../docs/protocols/homeseer.md').split('\n## 9 ')[1] ?? ''

function text(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

/** The rows whose first cell fits, cell by cell. */
function rows(first: RegExp): readonly (readonly string[])[] {
  return document
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, cell = '']) => first.test(cell))
}

/** `it('…'` as it stands in the file, so that neither a comment nor a skipped test passes for one. */
function testsIn(file: string): readonly string[] {
  return [...text(`./${file}`).matchAll(/^ {2}it\((['"])(.*)\1, async/gm)].map(([, , title = '']) => title)
}

describe('the table of defects in docs/protocols/homeseer.md', () => {
  it('lists all eighteen in order, each with a test of its number', () => {
    const found = rows(/^\d+$/)
    expect(found.map(([, number]) => Number(number))).toEqual(Array.from({ length: 18 }, (_, index) => index + 1))
    const tests = testsIn('homeseer-policy.test.ts')
    for (const [, number, , title = ''] of found) {
      expect(title.startsWith(`${number}: `)).toBe(true)
      expect(tests).toContain(title)
    }
  })
})

describe('the table of probes in docs/protocols/homeseer.md', () => {
  it('lists all twenty-three in order, each with a test of its number', () => {
    const found = rows(/^C\d+$/)
    expect(found.map(([, probe]) => probe)).toEqual(Array.from({ length: 23 }, (_, index) => `C${index + 1}`))
    const tests = testsIn('homeseer-transcript.test.ts')
    for (const [, probe, title = ''] of found) {
      expect(title.startsWith(`${probe} `)).toBe(true)
      expect(tests).toContain(title)
    }
  })
})
