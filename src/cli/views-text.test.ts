/** What a person at a terminal is shown of measurements and of one tool. */
import { describe, expect, it } from 'vitest'
import type { ToolView } from '../web/views.ts'
import { formatMeasurementSummary, formatToolDetails } from './views-text.ts'

describe('hearthbus history', () => {
  const series = [
    { id: 'ebus/zone-1/current_temp_c', atMs: [0, 60_000], values: [20.5, 21] },
    { id: 'ebus/boiler/water_pressure_bar', atMs: [60_000], values: [1.5] },
    { id: 'homeseer/4711', atMs: [60_000], values: [19] },
  ]

  it('is printed with the unit that the series name contains', () => {
    const rows = formatMeasurementSummary(series, [], 120_000).text.split('\n').slice(1)
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
      ['ebus/zone-1/current_temp_c', '21 °C', '20.5 … 21 °C', '2', '60 s ago'],
      ['ebus/boiler/water_pressure_bar', '1.5 bar', '1.5 … 1.5 bar', '1', '60 s ago'],
      ['homeseer/4711', '19', '19 … 19', '1', '60 s ago'],
    ])
  })

  it('is rounded to two decimals in text, and exact in JSON', () => {
    const fine = [{ id: 'ebus/zone-1/current_temp_c', atMs: [0, 60_000], values: [19.998, 20.28151] }]
    const { text, json } = formatMeasurementSummary(fine, [], 60_000)
    expect(text.split('\n')[1]?.split(/ {2,}/).slice(1, 3)).toEqual(['20.28 °C', '20 … 20.28 °C'])
    expect(json).toEqual(fine)
  })

  it('is shown for the requested series, and an unknown name is reported', () => {
    expect(formatMeasurementSummary(series, ['homeseer/4711'], 0).json).toEqual([series[2]])
    expect(formatMeasurementSummary(series, ['homeseer/4712'], 0)).toMatchObject({
      exit: 1,
      text: 'Nothing is measured as homeseer/4712. hearthbus history lists what is. Did you mean homeseer/4711?',
    })
    expect(formatMeasurementSummary([], ['nope'], 0).text).toContain('Nothing was measured yet')
  })
})

describe('hearthbus tools with a name', () => {
  it('shows the members of the tool’s arguments', () => {
    const slot = { type: 'object', properties: { hour: { type: 'integer', description: 'Of the day.' } } }
    const tool = {
      name: 't',
      description: 'd',
      inputSchema: {
        type: 'object',
        required: ['slots'],
        properties: {
          slots: { type: 'array', items: { ...slot, required: ['hour'] } },
          params: { type: 'object', properties: { model: { type: 'string' } } },
          names: { type: 'array', items: { type: 'string' } },
        },
      },
    } as unknown as ToolView
    const rows = formatToolDetails([tool], 't').text.split('\n').slice(-5)
    expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
      ['slots', 'required', 'array of object'],
      ['slots[].hour', 'required', 'integer', 'Of the day.'],
      ['params', 'object'],
      ['params.model', 'string'],
      ['names', 'array of string'],
    ])
  })
})
