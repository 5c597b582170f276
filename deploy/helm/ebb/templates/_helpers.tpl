{{- define "ebb.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end }}

{{- define "ebb.selector" -}}
app.kubernetes.io/name: ebb
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ebb.labels" -}}
{{ include "ebb.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "ebb.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end }}

{{- define "ebb.secret" -}}
{{- default (printf "%s-settings" (include "ebb.name" .)) .Values.existingSecret -}}
{{- end }}

{{- define "ebb.serverSecret" -}}
{{- default (printf "%s-secret" (include "ebb.name" .)) .Values.serverSecret -}}
{{- end }}

{{/* Container fields that every container of the server shares. */}}
{{- define "ebb.container" -}}
image: {{ include "ebb.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  {{- range $name, $value := .Values.settings }}
  - name: EBB_{{ $name | upper | replace "-" "_" }}
    {{- /* Helm reads whole numbers as floats, which it would write as 1.048576e+06. */}}
    value: {{ ternary (printf "%.0f" $value) (toString $value) (and (kindIs "float64" $value) (eq (float64 $value) (floor $value))) | quote }}
  {{- end }}
  {{- if .Values.redis.enabled }}
  - name: EBB_REDIS_URL
    value: redis://{{ include "ebb.name" . }}-redis:6379
  {{- end }}
  {{- /* The tier leaves some of the volume free by itself. */}}
  - name: EBB_DISK_KV_SIZE
    value: {{ ternary (printf "%sB" .Values.storage.kv.size) "0" (ne .Values.storage.kv.size "") | quote }}
  {{- if .Values.storage.kv.size }}
  - name: EBB_DISK_KV_DIR
    value: /kv
  {{- end }}
  - name: EBB_SECRET_FILE
    value: /secret/secret
  {{- if .Values.postgres.enabled }}
  - name: EBB_DATABASE_URL
    valueFrom:
      secretKeyRef:
        name: {{ include "ebb.name" . }}-postgres
        key: url
  {{- end }}
{{- if or .Values.existingSecret .Values.secretSettings }}
envFrom:
  - secretRef:
      name: {{ include "ebb.secret" . }}
{{- end }}
volumeMounts:
  - name: data
    mountPath: /data
  - name: models
    mountPath: /models
  {{- if .Values.storage.kv.size }}
  - name: kv
    mountPath: /kv
  {{- end }}
  - name: shared-memory
    mountPath: /dev/shm
  - name: secret
    mountPath: /secret
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end }}
