import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'

const LOGGER = new URL('logger.ts', import.meta.url).href

/** More than any pipe holds, then a line on stdout, then one more in the log for every line on stdin. */
const TALKER = `
  import { createLogger } from ${JSON.stringify(LOGGER)}
  const logger = createLogger('info')
  for (let line = 1; line <= 2_000; line++) logger.info({ filler: 'x'.repeat(1_000) }, 'line ' + line)
  process.stdout.write('done')
  process.stdin.on('data', () => logger.info({}, 'somebody reads again'))
`

describe('logger', () => {
  it('continues when the reader of its output has left', async () => {
    const script = `
      import { createLogger } from ${JSON.stringify(LOGGER)}
      const logger = createLogger('info')
      process.stdin.on('data', () => logger.info({}, 'is anybody there?'))
      process.stdout.write('ready')
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' })
    const ended = once(child, 'exit')
    await once(child.stdout, 'data')
    child.stderr.destroy()
    child.stdin.end('?')
    expect(await ended).toEqual([0, null])
  })

  it('does not block on a slow reader, and later logs how many lines were dropped', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', TALKER], { stdio: 'pipe' })
    await once(child.stdout, 'data')
    let log = ''
    const caughtUp = new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString()
        // Once it is empty again, the next line finds room.
        if (!log.includes('reads again')) child.stdin.write('?')
        else resolve()
      })
    })
    await caughtUp
    child.stdin.end()
    await once(child, 'close')
    const lines = log
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { readonly msg: string; readonly lines?: number })
    const lost = lines.findIndex(({ msg }) => msg === 'log lines were lost because they could not be written')
    expect(lines[lost - 1]?.msg).toBe(`line ${lost}`)
    expect(lines[lost + 1]?.msg).toBe('somebody reads again')
    expect(lines[lost]?.lines).toBeGreaterThanOrEqual(2_000 - lost)
  })
})
