import { describe, expect, it } from 'vitest'
import { diagnoseDoctorFacts } from './doctor.ts'
import type { NodeExaminationFacts } from './doctor.ts'
import { explainUnmatchedPatterns } from './unmatched-patterns.ts'

const WELL: NodeExaminationFacts = {
  nodeVersion: 'v24.21.0',
  dataRoot: '/data',
  configProblems: [],
  configFile: '/etc/hearthbus.yaml',
  freeBytes: 5e9,
  looseKeys: [],
  gateway: { url: 'http://127.0.0.1:7420', answers: true },
  listenerFaults: [],
  ledger: { entries: 3, findings: [] },
  services: [{ level: 'ok', about: 'runtime', sentence: 'is ok.' }],
}

function about(name: string, facts: Partial<NodeExaminationFacts>): unknown {
  return diagnoseDoctorFacts({ ...WELL, ...facts }).filter((finding) => finding.about === name)
}

describe('doctor', () => {
  it('reports a ledger that could not be checked as not checked, not as new', () => {
    expect(about('ledger', { ledger: undefined })).toMatchObject([{ level: 'ok', sentence: 'not begun yet.' }])
    expect(about('ledger', { ledger: 'unknown' })).toMatchObject([
      { level: 'warn', sentence: expect.stringMatching(/^not checked/) },
    ])
  })

  it('warns of witnesses that do not cosign', () => {
    const cosigning = { witnesses: 2, cosignatures: 1, everySeconds: 60 }
    expect(about('witnesses', { cosigning })).toMatchObject([
      { level: 'warn', sentence: expect.stringMatching(/^1 of 2 witnesses .*hearthbus ledger key/) },
    ])
    expect(about('witnesses', { cosigning: { ...cosigning, cosignatures: 2 } })).toMatchObject([{ level: 'ok' }])
    expect(about('witnesses', { cosigning: { ...cosigning, witnesses: 0 } })).toEqual([])
  })

  it('warns of rules and profiles that match nothing, and suggests the closest name', () => {
    const offered = ['hs4.scripts.run', 'hs4.devices.list']
    const rules = [
      { tool: 'hs4.script.run', says: 'forbid' },
      { tool: 'hs4.*', says: 'ask' },
      { target: 'homeseer:141', says: 'forbid' },
    ]
    const profiles = {
      evening: { include: ['hs4.devices.*', 'lamps.*'], exclude: [] },
      all: { include: ['*'], exclude: [] },
    }
    const unmatched = explainUnmatchedPatterns({ guard: { rules }, profiles }, offered)
    expect(about('rules and profiles', { unmatched })).toEqual([
      {
        level: 'warn',
        about: 'rules and profiles',
        sentence:
          'the rule that says forbid names hs4.script.run, but nothing here has that name. Did you mean hs4.scripts.run?',
      },
      {
        level: 'warn',
        about: 'rules and profiles',
        sentence: 'the profile evening names lamps.*, but nothing here has that name.',
      },
    ])
  })
})
