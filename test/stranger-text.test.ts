/** Words that a far end supplies reach a model without invisible characters, whichever family answers with them. */
import { describe, expect, it } from 'vitest'
import type { Family, Offer } from '../src/bus/capability.ts'
import { isVisibleText } from '../src/core/stranger-text.ts'
import { ebusFamily } from '../src/ebus/tools/ebus-envelope.ts'
import { homeseerFamily } from '../src/homeseer/tools/homeseer-envelope.ts'

// Bidirectional override, zero-width space, tag letters (Unicode 15, chapters 9 and 23), bell, blank Hangul letter.
const PLANTED = 'Lamp\u202Egnp.\u202C\u200Bon\u{E0041}\u{E0042}\u0007\u3164'
const SHOWN = 'Lampgnp.on'

describe.each<[string, Family]>([
  ['homeseer', homeseerFamily],
  ['ebus', ebusFamily],
])('a device name in an answer of %s', (_, family) => {
  const offer = { name: 'x' } as Offer

  it('is shown without what a reader cannot see, as a value and as the name of a member', () => {
    const text = JSON.stringify(family.success({ name: PLANTED, [PLANTED]: [PLANTED] }, offer))
    expect(text.split(SHOWN)).toHaveLength(4)
    expect(isVisibleText(text)).toBe(true)
  })

  it('is shown so in a failure, too', () => {
    const { structured } = family.failure({ kind: 'failed', message: `${PLANTED} is stuck` }, offer)
    expect(JSON.stringify(structured)).toContain(`${SHOWN} is stuck`)
  })
})
