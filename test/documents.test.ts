import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generatedDocuments } from '../src/cli/docs-store.ts'
import { EXIT } from '../src/cli/print.ts'

describe('documents', () => {
  it('are what the offers and the schema say now (npm run docs renews them)', async () => {
    for (const [path, text] of await generatedDocuments())
      expect([basename(path), readFileSync(path, 'utf8')]).toEqual([basename(path), text])
  })

  it('list the exit codes that the program has', () => {
    const running = readFileSync(new URL('../docs/running.md', import.meta.url), 'utf8')
    const listed = [...running.matchAll(/^\| (\d) \|/gm)].map(([, code]) => Number(code))
    expect(listed).toEqual(Object.values(EXIT))
  })
})
