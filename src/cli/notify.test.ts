import { describe, expect, it } from 'vitest'
import { formatNotifyAttempts } from './notify.ts'

describe('hearthbus notify', () => {
  it('prints the result for each destination, and fails if one failed', () => {
    const answer = formatNotifyAttempts([
      { host: 'ntfy.example', format: 'ntfy', trouble: undefined },
      { host: 'hooks.example:8443', format: 'json', trouble: 'it answered 403' },
    ])
    expect(answer.text).toBe(
      [
        'place               format  trial',
        'ntfy.example        ntfy    taken',
        'hooks.example:8443  json    failed: it answered 403',
      ].join('\n'),
    )
    expect(answer.json).toEqual([
      { host: 'ntfy.example', format: 'ntfy', ok: true },
      { host: 'hooks.example:8443', format: 'json', ok: false, trouble: 'it answered 403' },
    ])
    expect(answer.exit).toBe(1)
    expect(formatNotifyAttempts([{ host: 'ntfy.example', format: 'ntfy', trouble: undefined }]).exit).toBe(0)
  })

  it('fails if no destination is configured', () => {
    expect(formatNotifyAttempts([])).toMatchObject({ json: [], exit: 2 })
  })
})
