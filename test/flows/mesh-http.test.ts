import { meshFlows } from '../mesh-flows.ts'

meshFlows('HTTP alone', async () => ({}))
