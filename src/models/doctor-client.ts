/**
 * Models examination: whether the model servers answer, and let this node in.
 *
 * A running gateway hands over how each of them fared. Before a start each is asked for its list of models.
 */
import type { ModelsConfig } from '../config/models.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Fault } from '../core/fault.ts'
import { createOpenAiBackend } from './openai-client.ts'

export interface ModelsExaminationOptions {
  readonly config: ModelsConfig
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What a running gateway knows: what is wrong with its servers. */
  readonly troubles?: readonly Fault[]
}

export async function examineModels({
  config,
  environment,
  troubles,
}: ModelsExaminationOptions): Promise<readonly DoctorFinding[]> {
  const found = [
    ...listMissingKeyVariables(config, environment).map((name) => toFinding('warn', explainMissingKeyVariable(name))),
    // A model that one server lacks is a word in a list; a server that is away, or lets nobody in, is all of its models.
    ...(troubles ?? (await askServers(config, environment))).map(({ kind, message }) =>
      toFinding(kind === 'not-found' ? 'warn' : 'fail', message),
    ),
  ]
  if (found.length > 0) return found
  const { length: servers } = config.endpoints
  return [toFinding('ok', servers === 0 ? 'The built-in model only.' : `${servers} of ${servers} servers answer.`)]
}

/** Variables that should hold a key and are not set. */
export function listMissingKeyVariables(
  { endpoints }: ModelsConfig,
  environment: ModelsExaminationOptions['environment'],
): readonly string[] {
  return endpoints.flatMap(({ keyVariable: name }) =>
    name === undefined || (environment[name] ?? '') !== '' ? [] : [name],
  )
}

export function explainMissingKeyVariable(variable: string): string {
  return `models: the environment variable ${variable}, which should hold a key, is not set.`
}

async function askServers(
  { endpoints }: ModelsConfig,
  environment: ModelsExaminationOptions['environment'],
): Promise<readonly Fault[]> {
  const { signal } = new AbortController()
  const asked = await Promise.all(
    endpoints.map(async ({ url, keyVariable }) => {
      const key = keyVariable === undefined ? '' : (environment[keyVariable] ?? '')
      return createOpenAiBackend({ url, key: key === '' ? undefined : key }).reach?.(signal)
    }),
  )
  return asked.flatMap((answer) => (answer === undefined || answer.ok ? [] : [answer.fault]))
}

function toFinding(level: DoctorFinding['level'], sentence: string): DoctorFinding {
  return { level, about: 'models', sentence }
}
