import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

/** In a process that may open 64 files: first while it has all of them open, then when they are closed. */
const SCRIPT = `
  import { closeSync, openSync } from 'node:fs'
  import { validateRequest, checkReplySchema } from ${JSON.stringify(new URL('schema-validation.ts', import.meta.url).href)}
  const schema = { type: 'object', properties: { n: { type: 'number' } } }
  const offer = { name: 'x.y', version: [1, 0], params: {}, requestSchema: schema, responseSchema: schema }
  const tried = () => {
    try {
      return [validateRequest(offer, { n: 1 }).ok, checkReplySchema(offer, { data: { n: 1 } })?.message]
    } catch (error) {
      return [error.message, checkReplySchema(offer, { data: { n: 1 } })?.message]
    }
  }
  const open = []
  try {
    for (;;) open.push(openSync('/dev/null'))
  } catch {}
  const meanwhile = tried()
  for (const file of open) closeSync(file)
  process.stdout.write(JSON.stringify({ meanwhile, afterwards: tried() }))
`

describe('schema compiler', () => {
  it('is loaded at the next use when it could not be loaded before', () => {
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, SCRIPT],
      { encoding: 'utf8' },
    )
    expect([JSON.parse(stdout), stderr]).toEqual([
      {
        meanwhile: [
          expect.stringMatching(/^what checks schemas could not be loaded \(.*\)$/),
          expect.stringMatching(/^x\.y answered, but its answer could not be checked: .* Any change it made stands\.$/),
        ],
        afterwards: [true, null],
      },
      '',
    ])
  })
})
