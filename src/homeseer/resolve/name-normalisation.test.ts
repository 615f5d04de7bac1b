import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import { stripFillerWords } from './filler-words.ts'
import { normaliseName, toConfusableSkeleton, toStrictNameKey, splitNameTokens } from './name-normalisation.ts'

describe('normaliseName', () => {
  it('folds case, accents, compatibility forms and punctuation', () => {
    expect(normaliseName('  Küchentheke, LINKS ')).toBe('kuchentheke links')
    expect(normaliseName('Ｆｒｏｎｔ　Ｄｏｏｒ')).toBe('front door')
    expect(normaliseName('A/C № 2')).toBe('a c no 2')
    expect(splitNameTokens(normaliseName('lamp lamp hall'))).toEqual(['lamp', 'hall'])
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(normaliseName(normaliseName(text))).toBe(normaliseName(text))
      }),
    )
  })

  it('treats ASCII text on its fast path as on the general one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        expect(normaliseName(text)).toBe(normaliseName(`${text}\u00a0`))
      }),
    )
  })
})

describe('toStrictNameKey', () => {
  it('ignores case, spaces and punctuation, and nothing else', () => {
    expect(toStrictNameKey('Front-Door  Lock')).toBe(toStrictNameKey('front door lock'))
    expect(toStrictNameKey('Ku\u0308che')).toBe(toStrictNameKey('Küche'))
    for (const other of [
      'Frоnt Door Lock',
      'Ｆront Door Lock',
      'Fr\u200bont Door Lock',
      'Frönt Door Lock',
      'Front Door Lock²',
    ])
      expect(toStrictNameKey(other)).not.toBe(toStrictNameKey('Front Door Lock'))
  })
})

describe('toConfusableSkeleton', () => {
  it('is equal for names that look the same', () => {
    for (const other of ['Frоnt Door', 'Ｆront Door', 'Fr\u200bont Door', 'Frοnt Dооr', 'FRONT DOOR'])
      expect(toConfusableSkeleton(other)).toBe('front door')
    expect(toConfusableSkeleton('Front Floor')).not.toBe('front door')
  })
})

describe('stripFillerWords', () => {
  it('removes filler around a name', () => {
    expect(stripFillerWords('turn on the kitchen lamp please')).toBe('kitchen lamp')
    expect(stripFillerWords('schalte bitte die lampe im flur ein')).toBe('lampe flur')
  })

  it('keeps words that change the meaning, and never removes the whole text', () => {
    expect(stripFillerWords('not the lamp')).toBe('not lamp')
    expect(stripFillerWords('all lamps')).toBeUndefined()
    expect(stripFillerWords('turn it on')).toBe('it')
    expect(stripFillerWords('on off')).toBeUndefined()
    expect(stripFillerWords('hall lamp')).toBeUndefined()
  })
})
