/**
 * What is said to a thing, and what it is told. The expected values are what English and German speakers mean: a blind
 * that is 30 % closed is 70 % open, `um 7` is a time of day, and degrees are not percent.
 */
import { describe, expect, it } from 'vitest'
import type { ThingKind } from './home-words.ts'
import type { Thing, ThingControl } from './thing.ts'
import { chooseThingControl, isStateQuestion } from './thing-control-choice.ts'

function control(wish: ThingControl['wish'], more: Partial<ThingControl> = {}): ThingControl {
  return { wish, ...more, callFor: (value) => ({ tool: 'set', arguments: { to: value ?? wish } }) }
}

function thing(kind: ThingKind, controls: readonly ThingControl[], level?: number): Thing {
  return {
    handle: 'hs:1',
    name: 'Thing',
    room: undefined,
    floor: undefined,
    kind,
    state: undefined,
    isOn: undefined,
    isOpen: undefined,
    isLocked: undefined,
    ageSeconds: undefined,
    isSensitive: false,
    level,
    controls,
  }
}

const range = { minimum: 1, maximum: 98 }
const DIMMER = thing('light', [control('off'), control('level', range), control('on')], 50)
const BLIND = thing('blind', [control('close'), control('level', range), control('open')], 50)
const THERMOSTAT = thing('thermostat', [control('temperature', { minimum: 5, maximum: 30 })], 20)
const SPEAKER = thing('speaker', [control('level', { minimum: 0, maximum: 100 })], 30)
const SWITCH = thing('switch', [control('off', { label: 'Off' }), control('on', { label: 'On' })])

function chosenValue(one: Thing, to: string | number | boolean): unknown {
  const chosen = chooseThingControl(one, to)
  return chosen.ok ? chosen.value.call.arguments['to'] : 'refused'
}

describe('choosing a control from words', () => {
  it.each([
    ['a third', 33],
    ['two thirds', 67],
    ['dreiviertel', 75],
    ['drei Viertel', 75],
    ['on at 40 percent', 40],
    ['an auf 40 %', 40],
    ['forty percent', 40],
    [0, 'off'],
    ['0 %', 'off'],
    ['full brightness', 'on'],
    ['volle Helligkeit', 'refused'],
    ['10 % less', 40],
    ['um 10 Prozent heller', 60],
    ['a bit darker', 40],
  ])('for a dimmer at 50: %s yields %s', (to, value) => {
    expect(chosenValue(DIMMER, to)).toBe(value)
  })

  it.each([
    'at 7',
    'um 7',
    'on at 7',
    '20 °C',
    '20 Grad',
    'wärmer',
    'lauter',
    'not brighter',
    'brighter than the hall',
  ])('refuses for a dimmer: %s', (to) => {
    expect(chosenValue(DIMMER, to)).toBe('refused')
  })

  it.each([
    ['30 percent closed', 70],
    ['30 % geschlossen', 70],
    ['zu 30 % geschlossen', 'refused'],
    ['30 % open', 30],
    ['half down', 50],
    ['halb zu', 50],
    ['a quarter up', 25],
    ['closed', 'close'],
    [0, 'close'],
    ['um 20 % runter', 30],
    ['30 % runter', 'refused'],
    ['more', 'refused'],
    ['on', 'refused'],
    ['off', 'refused'],
    ['brighter', 'refused'],
  ])('for a half-open blind: %s yields %s', (to, value) => {
    expect(chosenValue(BLIND, to)).toBe(value)
  })

  it.each([
    ['21,5 Grad', 21.5],
    ['1,5 Grad wärmer', 21.5],
    ['anderthalb Grad wärmer', 21.5],
    ['two and a half degrees cooler', 17.5],
    ['ein Grad kühler', 19],
    ['zwanzig komma fünf', 20.5],
    ['20 %', 'refused'],
    ['a quarter', 'refused'],
    ['10 % warmer', 'refused'],
    ['68 °F', 'refused'],
    ['brighter', 'refused'],
    ['warmer than upstairs', 'refused'],
  ])('for a thermostat at 20: %s yields %s', (to, value) => {
    expect(chosenValue(THERMOSTAT, to)).toBe(value)
  })

  it('changes the volume only of things that play sound', () => {
    expect([
      chosenValue(SPEAKER, 'louder'),
      chosenValue(SPEAKER, 'warmer'),
      chosenValue(SPEAKER, 'etwas leiser'),
    ]).toEqual([50, 'refused', 20])
  })

  it.each(['on?', 'is it on', 'ist er aus?', 'Wie hell', 'are they off', 'on ？'])(
    'refuses the question "%s"',
    (to) => {
      expect(isStateQuestion(to)).toBe(true)
      expect(chosenValue(SWITCH, to)).toBe('refused')
    },
  )
})
