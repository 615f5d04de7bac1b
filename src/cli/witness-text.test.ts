import { describe, expect, it } from 'vitest'
import { formatStartedWitness } from './witness-text.ts'

const here = { host: '127.0.0.1', url: 'http://127.0.0.1:7422', vkey: 'w+1+A', logs: ['hearthbus.local/attic'] }

describe('the text that a witness prints at its start', () => {
  it('contains the configuration for the gateway that it witnesses', () => {
    expect(formatStartedWitness(here).split('\n')).toEqual([
      'The witness listens at http://127.0.0.1:7422 for hearthbus.local/attic.',
      'In the configuration of a gateway that it should watch over:',
      '  ledger:',
      '    witnesses:',
      '      - vkey: w+1+A',
      '        url: http://127.0.0.1:7422',
      '',
    ])
  })

  it.each([
    ['0.0.0.0', 'http://127.0.0.1:7422', '127.0.0.1'],
    ['::', 'http://[::1]:7422', '[::1]'],
  ])('says, when listening on %s, which address another machine has to use', (host, url, printed) => {
    expect(formatStartedWitness({ ...here, host, url })).toContain(
      `\nOn another machine, write this machine’s address instead of ${printed}.\n`,
    )
  })
})
