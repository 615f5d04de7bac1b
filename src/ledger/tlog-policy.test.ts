import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCosigner, formatVerifierKey, createLogSigner } from './note-key.ts'
import { parseWitnessPolicy, isPolicySatisfied } from './tlog-policy.ts'
import type { WitnessPolicy } from './tlog-policy.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const logKey = formatVerifierKey(createLogSigner('log.example', privateKey).key)
const sameKeyOtherName = formatVerifierKey(createLogSigner('log.example/b', privateKey).key)
const witnessKeys = Array.from({ length: 6 }, (_, index) =>
  formatVerifierKey(createCosigner(`w${index}.example`, generateKeyPairSync('ed25519').privateKey, () => 0).key),
)
const [x1, x2, x3, y1, y2, y3] = witnessKeys

const POLICY = `# two houses
log ${logKey} https://log.example/

witness X1 ${x1}
witness X2 ${x2} https://x2.example/
\twitness   X3 ${x3}
group X-witnesses 2 X1 X2 X3
witness Y1 ${y1}
witness Y2 ${y2}
witness Y3 ${y3}
group Y-witnesses any Y1 Y2 Y3
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
`

function policyOf(text: string): WitnessPolicy {
  const policy = parseWitnessPolicy(text)
  if (!policy.ok) throw new Error(policy.fault.reason)
  return policy.value
}

describe('witness policy', () => {
  it('parses logs, witnesses, groups and the quorum', () => {
    const policy = policyOf(POLICY)
    expect(policy.logs.map(({ key, url }) => [key.name, url])).toEqual([['log.example', 'https://log.example/']])
    expect(policy.witnesses.map(({ name }) => name)).toEqual(['X1', 'X2', 'X3', 'Y1', 'Y2', 'Y3'])
    expect(policy.groups.map(({ threshold }) => threshold)).toEqual([2, 1, 2])
  })

  it.each([
    [['X1', 'X2', 'Y3'], true],
    [['X1', 'X2', 'X3', 'Y1', 'Y2', 'Y3'], true],
    [['X1', 'Y1', 'Y2', 'Y3'], false],
    [['X1', 'X2', 'X3'], false],
    [[], false],
  ])('with cosignatures of %j the quorum of two groups is met: %s', (cosigned, met) => {
    expect(isPolicySatisfied(policyOf(POLICY), cosigned)).toBe(met)
  })

  it('needs no cosignature if the quorum is `none`, and one if it is a witness', () => {
    expect(isPolicySatisfied(policyOf('quorum none\n'), [])).toBe(true)
    const one = policyOf(`witness W ${x1}\nquorum W\n`)
    expect([isPolicySatisfied(one, []), isPolicySatisfied(one, ['W'])]).toEqual([false, true])
  })

  it.each([
    ['no quorum', `witness W ${x1}\n`, 0, 'no quorum'],
    ['two quorums', 'quorum none\nquorum none\n', 2, 'second quorum'],
    ['a quorum of an unknown name', 'quorum W\n', 1, 'not defined'],
    ['a quorum before its witness', `quorum W\nwitness W ${x1}\n`, 1, 'not defined'],
    ['a name twice', `witness W ${x1}\nwitness W ${x2}\nquorum W\n`, 2, 'already defined'],
    ['a key twice', `witness W ${x1}\nwitness V ${x1}\nquorum W\n`, 2, 'already listed'],
    ['a log key under two names', `log ${logKey}\nlog ${sameKeyOtherName}\nquorum none\n`, 2, 'already listed'],
    ['a witness called none', `witness none ${x1}\nquorum none\n`, 1, 'already defined'],
    ['none in a group', 'group G any none\nquorum G\n', 1, 'not defined'],
    ['a threshold of zero', `witness W ${x1}\ngroup G 0 W\nquorum G\n`, 2, 'from 1 to 1'],
    ['a threshold above the members', `witness W ${x1}\ngroup G 2 W\nquorum G\n`, 2, 'from 1 to 1'],
    ['a group of nobody', 'group G all\nquorum G\n', 1, 'a group line is'],
    ['a member of two groups', `witness W ${x1}\ngroup G any W\ngroup H any W\nquorum H\n`, 3, 'already a member'],
    ['a log key for a witness', `witness W ${logKey}\nquorum W\n`, 1, 'type 4'],
    ['a witness key for a log', `log ${x1}\nquorum none\n`, 1, 'type 1'],
    ['an unknown keyword', 'logs\nquorum none\n', 1, 'not a keyword'],
    ['a carriage return', 'quorum none\r\n', 1, 'control characters'],
  ])('is refused with %s', (_, text, line, reason) => {
    const policy = parseWitnessPolicy(text)
    expect(policy).toMatchObject({ ok: false, fault: { line } })
    expect(!policy.ok && policy.fault.reason).toContain(reason)
  })

  it('accepts 32 witnesses and groups', () => {
    const lines = Array.from({ length: 32 }, (_, index) => {
      const key = createCosigner(`w${index}`, generateKeyPairSync('ed25519').privateKey, () => 0).key
      return `witness W${index} ${formatVerifierKey(key)}\ngroup G${index} any W${index}\n`
    })
    expect(policyOf(`${lines.join('')}quorum G31\n`).groups).toHaveLength(32)
  })

  it('is never valid without a quorum line, and parsing never throws', () => {
    const words = fc.constantFrom('log', 'witness', 'group', 'quorum', 'none', 'any', '2', '\n', 'W', x1 ?? '')
    fc.assert(
      fc.property(fc.array(words), (parts) => {
        const policy = parseWitnessPolicy(parts.join(' '))
        expect(policy.ok).toBe(policy.ok && policy.value.quorum !== '' && parts.includes('quorum'))
      }),
    )
  })
})
